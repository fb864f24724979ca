"""What tests build their cases of: hosts, clusters, snapshots and results. Nothing here is a test.

- Recorded answers (`tests/cases`): `hosts`, `cluster`, `gpus`, `firewall`; `healthy` is all of them at once, `fleet` a
  large cluster made of it, `passing_steps` what each step passes on. A test names the answers that it changes.
- Written answers: `reset_hosts`, `pod_paths`, `start_times`, `proof_inputs`, `specs`, `value_layers`, `signing_keys`.
- Results for reports: `plans`, `diagnoses`, `fixes`, `proofs`, `resets`, `errors`.
- To evaluate them: `judge` (checks of steps), `doctor_checks`, `graphs` (the verdict), `fix_run`.
"""
