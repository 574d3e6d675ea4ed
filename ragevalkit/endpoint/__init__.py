"""OpenAI-compatible endpoints: profiles, the client, and the reading of its streams."""
