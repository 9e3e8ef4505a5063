export * from './chat-template.js';
export * from './detokenizer.js';
export * from './generation-config.js';
export * from './image-prompt.js';
export * from './prompt-builder.js';
export * from './sentence-tokenizer.js';
export * from './stop-matcher.js';
export * from './text-tokenizer.js';
