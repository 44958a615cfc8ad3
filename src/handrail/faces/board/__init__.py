"""The pages: every run live in a browser, and what a person does there."""
