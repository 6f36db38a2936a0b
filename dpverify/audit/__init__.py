"""Statistical audits of running implementations against their claims: whatever draws outputs can be audited."""
