"""The agent that answers questions with `search` and `cite`."""
