export { canonicalJson, isSignedWith, signResult } from './signed-result.js';
