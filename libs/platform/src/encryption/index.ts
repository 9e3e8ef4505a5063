export { SecretBox, type SecretKeys } from './secret-box.js';
