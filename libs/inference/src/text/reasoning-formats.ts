import { type ReasoningFormat, defaultReasoning } from '../contract/reasoning-format.js';

/**
 * Formats that chat templates name. Sources: the templates of Qwen3 and DeepSeek-R1, Command A Reasoning, Magistral,
 * Seed-OSS, Kimi, Apertus, and the harmony format of gpt-oss.
 */
const knownFormats: readonly Readonly<ReasoningFormat>[] = [
  defaultReasoning,
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|inner_prefix|>', close: '<|inner_suffix|>' },
  {
    open: '<|channel|>analysis<|message|>',
    close: '<|end|><|start|>assistant<|channel|>final<|message|>',
    answer: '<|channel|>final<|message|>',
  },
];

/** Returns the format that a chat template mentions; null if it mentions none. */
export function findReasoningFormat(template: string): ReasoningFormat | null {
  return knownFormats.find(({ open, close }) => template.includes(open) || template.includes(close)) ?? null;
}
