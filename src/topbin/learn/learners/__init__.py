"""One file per learner; `topbin.learn.registry` lists them."""
