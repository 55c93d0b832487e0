"""Tiny models of transformers with random weights, one per architecture."""

import torch

WIDTH, LAYERS, HEADS, VOCABULARY, LONGEST = 32, 2, 4, 53, 32
PLAIN = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 40,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": LONGEST,
    "pad_token_id": None,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
GPT = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": LONGEST, "vocab_size": VOCABULARY,
       "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
FALCON = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "vocab_size": VOCABULARY,
          "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
# name -> (model_type, fields of its config, its output projection, query heads of a unit)
MODELS = {
    "gpt2": ("gpt2", GPT, "transformer.h.{}.attn.c_proj", 1),
    "gpt_neox": ("gpt_neox", PLAIN, "gpt_neox.layers.{}.attention.dense", 1),
    "gpt_neo": (
        "gpt_neo",
        {"hidden_size": WIDTH, "num_layers": LAYERS, "num_heads": HEADS, "intermediate_size": 40, "window_size": 3,
         "attention_types": [[["global", "local"], 1]], "vocab_size": VOCABULARY, "max_position_embeddings": LONGEST,
         "bos_token_id": 0, "eos_token_id": 0},
        "transformer.h.{}.attn.attention.out_proj",
        1,
    ),
    "gptj": ("gptj", GPT | {"rotary_dim": 2}, "transformer.h.{}.attn.out_proj", 1),
    "opt": (
        "opt",
        PLAIN | {"ffn_dim": 40, "word_embed_proj_dim": WIDTH, "pad_token_id": 1},
        "model.decoder.layers.{}.self_attn.out_proj",
        1,
    ),
    "mpt": (
        "mpt",
        {"d_model": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "max_seq_len": LONGEST, "vocab_size": VOCABULARY},
        "transformer.blocks.{}.attn.out_proj",
        1,
    ),
    "bloom": (
        "bloom",
        {"hidden_size": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "vocab_size": VOCABULARY},
        "transformer.h.{}.self_attention.dense",
        1,
    ),
    "falcon": ("falcon", FALCON, "transformer.h.{}.self_attention.dense", HEADS),
    "falcon_groups": (
        "falcon",
        FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2},
        "transformer.h.{}.self_attention.dense",
        2,
    ),
    "gpt_bigcode": ("gpt_bigcode", GPT, "transformer.h.{}.attn.c_proj", HEADS),
    "llama": ("llama", PLAIN, "model.layers.{}.self_attn.o_proj", 1),
    "llama_groups": ("llama", PLAIN | {"num_key_value_heads": 2}, "model.layers.{}.self_attn.o_proj", 2),
    "qwen2": ("qwen2", PLAIN | {"num_key_value_heads": 2}, "model.layers.{}.self_attn.o_proj", 2),
    "qwen3": ("qwen3", PLAIN | {"num_key_value_heads": 2, "head_dim": 10}, "model.layers.{}.self_attn.o_proj", 2),
    "gemma": ("gemma", PLAIN | {"num_key_value_heads": 1, "head_dim": 10}, "model.layers.{}.self_attn.o_proj", HEADS),
    "phi": ("phi", PLAIN | {"num_key_value_heads": HEADS}, "model.layers.{}.self_attn.dense", 1),
    "stablelm": ("stablelm", PLAIN | {"num_key_value_heads": HEADS, "qk_layernorm": True}, "model.layers.{}.self_attn.o_proj", 1),
    "olmo2": ("olmo2", PLAIN | {"num_key_value_heads": HEADS}, "model.layers.{}.self_attn.o_proj", 1),
    "mixtral": (
        "mixtral",
        PLAIN | {"num_key_value_heads": 2, "num_local_experts": 2, "num_experts_per_tok": 1},
        "model.layers.{}.self_attn.o_proj",
        2,
    ),
}  # fmt: skip
NORMS_OVER_HEADS = ("olmo2",)
# Models for the loss alone: name -> (model_type, fields of its config)
FURTHER = {
    "gpt_neox_sequential": ("gpt_neox", PLAIN | {"use_parallel_residual": False}),
    "llama_tied": ("llama", PLAIN | {"num_key_value_heads": 2, "tie_word_embeddings": True}),
    "gemma2": ("gemma2", PLAIN | {"num_key_value_heads": 1, "head_dim": 10, "final_logit_softcapping": 2.0}),
    "cohere": ("cohere", PLAIN | {"logit_scale": 0.25}),
    "granite": ("granite", PLAIN | {"logits_scaling": 3.0}),
    "olmo3": ("olmo3", PLAIN | {"num_key_value_heads": HEADS, "sliding_window": 3,
                                "layer_types": ["sliding_attention", "full_attention"]}),
}  # fmt: skip


def tiny_config(name, **changes):
    from transformers import AutoConfig

    model_type, fields, *_ = (MODELS | FURTHER)[name]
    return AutoConfig.for_model(model_type, **(fields | changes))


def tiny_model(name, *, seed=0, **changes):
    """Return the model in eval mode, with weights large enough that attention is not uniform."""
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(
            tiny_config(name, **changes), attn_implementation="eager", dtype=torch.float32
        )
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.2 * torch.randn(weight.shape)
    return model.eval()


def trained_model(name, *, steps=30, **changes):
    """Return a tiny model after some steps of training on a fixed sequence with noise."""
    model = tiny_model(name, **changes).train()
    random = torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        for _ in range(steps):
            start = torch.randint(0, VOCABULARY, (8, 1), generator=random)
            tokens = (start + 3 * torch.arange(9)) % VOCABULARY
            optimizer.zero_grad()
            model(input_ids=tokens, labels=tokens).loss.backward()
            optimizer.step()
    return model.eval()


def tokens_of(model, count=4, length=9, *, seed=0):
    random = torch.Generator().manual_seed(seed)
    return torch.randint(0, model.config.vocab_size, (count, length), generator=random)
