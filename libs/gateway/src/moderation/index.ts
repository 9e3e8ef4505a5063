export { ImageClassifier, TextClassifier } from './classifiers.js';
export { ContentPolicy } from './content-policy.js';
export { PromptTexts } from './prompt-texts.js';
