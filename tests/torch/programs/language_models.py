"""Models of the library transformers, with random weights: forward, training and generation as on the CPU.

Arguments: the models to run; all of MODELS without one.
"""

import copy
import json
import sys

import torch
import torch_npu  # noqa: F401  (registers the device)
import transformers

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 97,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
# In 2.7 and 2.8, PyTorch's grouped product has a kernel for CUDA alone: what transformers does there on the CPU.
WITHOUT_GROUPS = {"experts_implementation": "eager"} if torch.__version__.startswith(("2.7.", "2.8.")) else {}
MODELS = {  # class, and what differs from SMALL
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "llama": ("LlamaForCausalLM", {}),
    "mistral": ("MistralForCausalLM", {"sliding_window": 8}),
    "qwen2": ("Qwen2ForCausalLM", {}),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 8}),
    "gemma2": ("Gemma2ForCausalLM", {"head_dim": 8, "query_pre_attn_scalar": 8}),
    "phi3": ("Phi3ForCausalLM", {}),
    "opt": ("OPTForCausalLM", {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "glm4": ("Glm4ForCausalLM", {"head_dim": 8}),
    "gpt_neox": ("GPTNeoXForCausalLM", {}),
    "bloom": ("BloomForCausalLM", {"n_layer": 2, "n_head": 4}),
    "mamba": ("MambaForCausalLM", {"state_size": 4, "time_step_rank": 4}),
    "mixtral": ("MixtralForCausalLM", {"num_local_experts": 4}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", {**EXPERTS, "shared_expert_intermediate_size": 16}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {**EXPERTS, "head_dim": 8}),
}


def made(name):
    class_name, differences = MODELS[name]
    kind = getattr(transformers, class_name)
    return kind(kind.config_class(**{**SMALL, **differences, **WITHOUT_GROUPS}))


def losses(model, tokens):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def compare(name):
    torch.manual_seed(0)
    on_cpu = made(name).eval()
    on_npu = copy.deepcopy(on_cpu).npu()
    tokens = torch.randint(3, SMALL["vocab_size"], (2, 9))
    with torch.no_grad():
        torch.testing.assert_close(on_npu(tokens.npu()).logits.cpu(), on_cpu(tokens).logits)
    settings = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    texts = [model.generate(given, **settings).cpu() for model, given in ((on_cpu, tokens), (on_npu, tokens.npu()))]
    assert torch.equal(*texts), texts
    # Without dropout. Sums of gradients may be rounded in another order.
    expected, results = losses(on_cpu, tokens), losses(on_npu, tokens.npu())
    torch.testing.assert_close(results, expected, rtol=1e-4, atol=1e-5)


for name in sys.argv[1:] or MODELS:
    compare(name)
print("answer:", json.dumps(sys.argv[1:] or list(MODELS)))
