import { toolStyleNames, type ToolStyleName } from '../contract/tool-use.js';
import { deepseekStyle, deepseekV31Style } from './deepseek.style.js';
import { genericStyle, hermesStyle } from './hermes.style.js';
import { llamaJsonStyle } from './llama-json.style.js';
import { llamaPythonicStyle } from './llama-pythonic.style.js';
import { mistralArgsStyle, mistralStyle } from './mistral.style.js';
import { qwenCoderStyle } from './qwen-coder.style.js';
import type { ToolStyle } from './tool-style.js';

export const toolStyles: Readonly<Record<ToolStyleName, ToolStyle>> = {
  hermes: hermesStyle,
  'qwen-coder': qwenCoderStyle,
  'llama-json': llamaJsonStyle,
  'llama-pythonic': llamaPythonicStyle,
  mistral: mistralStyle,
  'mistral-args': mistralArgsStyle,
  deepseek: deepseekStyle,
  'deepseek-v3.1': deepseekV31Style,
  generic: genericStyle,
};

/** The style that a model's manifest names, else the one of which its chat template speaks. */
export function findToolStyle(template: string | null, declared?: string): ToolStyle {
  const named = toolStyleNames.find((name) => name === declared);
  if (named !== undefined) return toolStyles[named];
  return Object.values(toolStyles).find((style) => template !== null && style.isIn(template)) ?? genericStyle;
}
