"""Measurements of a model with and without drafting: decode in turn, count, judge, report."""
