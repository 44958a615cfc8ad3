"""Tests with a browser, which stays open until the last of them: pytest sees by this file which they are."""
