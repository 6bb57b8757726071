"""Forward passes on 8-bit weights whose results do not depend on what shares a pass.

From below: `simd` gives numba code vectors, `tile` multiplies, `rows` works on single rows, `arrays` says what a pass reads and writes, `crew` shares
chunks between threads, `kernels` is a whole pass; `forward` is the model as the rest of the engine sees it,
`pack` converts weights, `converted` keeps them on disk, `probe` asks whether this machine can do all that.
"""
