export { maxScoredTokens } from '../contract/text-generation.js';
export { type ReasoningFormat, defaultReasoning } from '../contract/reasoning-format.js';
export type { ToolCallPiece, ToolDefinition, ToolStyleName, ToolUse } from '../contract/tool-use.js';
export { type ChannelDelta, ChoiceChannels } from '../text/choice-channels.js';
export { type ReasoningPart, ReasoningScanner } from '../text/reasoning-scanner.js';
export { ToolCallReader } from '../tools/tool-call-reader.js';
export { callableTools } from '../tools/tool-style.js';
export { toolStyles } from '../tools/tool-styles.js';
