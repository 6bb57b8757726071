"""The target model: weights, KV cache, verification and decoding. The only owner of torch."""
