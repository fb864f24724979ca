"""Reports of remediation."""
