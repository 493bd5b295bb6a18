"""The regret matching family: accumulators, predictors, link functions, and rules of them."""
