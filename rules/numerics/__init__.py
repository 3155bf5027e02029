"""Half-precision numbers: constants and operations that float16 cannot hold."""
