"""How many output tokens an answer needs where the model reasons first, and what limits that.

`plan` says what is asked and in which order, `reading` what came of one request or turn, `controls`
whether a thinking control was obeyed, `result` what all of it comes to, `ladder` asks, and `curve`
reads quality against budget from finished runs.
"""
