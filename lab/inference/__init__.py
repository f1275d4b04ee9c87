"""How far a number can be trusted, by what could have come out otherwise: other classes, or other trainings.

`over_classes`: a mean over queries. `paired`: the difference of two networks on the same queries. `rates`:
a rate over pairs or queries, where a class is drawn for both sides.
`crossed`: the difference of two methods that were each trained several times, over classes and trainings. Repeated
measurements of one number are `lab.core.estimates.Estimate`.
"""
