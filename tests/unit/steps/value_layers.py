"""Layers of Helm values as hypothesis makes them up: few names, so that they often meet."""

from hypothesis import strategies as st

names = st.sampled_from("abcd")
scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text("xyz", max_size=3))
layers = st.recursive(
    st.dictionaries(names, scalars | st.lists(scalars, max_size=2), max_size=3),
    lambda inner: st.dictionaries(names, scalars | inner, max_size=3),
    max_leaves=8,
)
