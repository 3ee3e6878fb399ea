"""Whether what is written is as good: likelihood under the base model, agreement with it, and scores on tasks."""
