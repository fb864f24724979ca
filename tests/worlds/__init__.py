"""What tests build their cases of: hosts, clusters, snapshots and results. Nothing here is a test.

- Answers: `cases` (recorded in tests/cases, or written), `pod_paths`, `start_times`, `managed_fields`.
- Snapshots of recorded answers: `hosts`, `cluster`, `gpus`, `host_stack`, `firewall`; `healthy` is all of them at once,
  `fleet` a large cluster made of it, `passing_steps` what each step passes on. A test names the answers it changes.
- Snapshots of written answers: `proof_hosts`, `reset_hosts`; runs on such hosts: `fix_run`, `rollout_run`.
- Inputs of a proof, of the configuration and others: `proof_inputs`, `specs`, `value_layers`, `files`, `signing_keys`,
  `apt_host`, `lab_records`, `small_bundle`.
- Results for reports: `plans`, `diagnoses`, `fixes`, `proofs`, `resets`, `errors`; `screen` prints one.
- To evaluate them: `judge` (checks of steps), `doctor_checks`, `graphs` (the verdict).
"""
