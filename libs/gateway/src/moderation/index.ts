export { ImageClassifier, TextClassifier } from '../pipeline/policy/classifiers.js';
export { ContentPolicy } from '../pipeline/policy/content-policy.js';
export { PromptTexts } from '../pipeline/policy/prompt-texts.js';
