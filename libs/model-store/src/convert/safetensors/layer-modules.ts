/* Modules of layers in the layout of the hubs by their GGUF names, as many architectures have them. */

export const attentionWithoutNorm = {
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
};
export const attention = { attn_norm: 'input_layernorm', ...attentionWithoutNorm };
export const feedForward = { ffn_gate: 'mlp.gate_proj', ffn_up: 'mlp.up_proj', ffn_down: 'mlp.down_proj' };
export const fusedFeedForward = { ffn_up: 'mlp.gate_up_proj', ffn_down: 'mlp.down_proj' };
export const headNorms = { attn_q_norm: 'self_attn.q_norm', attn_k_norm: 'self_attn.k_norm' };
export const plain = { ...attention, ffn_norm: 'post_attention_layernorm', ...feedForward };
export const normsAfter = {
  post_attention_norm: 'post_attention_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm',
};
export const normsAround = { ...attention, ...normsAfter, ffn_norm: 'pre_feedforward_layernorm', ...feedForward };
export const wholeContext = { use_sliding_window: false };
export const expertParts = { ffn_gate_exps: 'gate_proj', ffn_up_exps: 'up_proj', ffn_down_exps: 'down_proj' };
export const mixtralParts = { ffn_gate_exps: 'w1', ffn_down_exps: 'w2', ffn_up_exps: 'w3' };
export const sharedExperts = {
  ffn_gate_shexp: 'mlp.shared_experts.gate_proj',
  ffn_up_shexp: 'mlp.shared_experts.up_proj',
  ffn_down_shexp: 'mlp.shared_experts.down_proj',
};
