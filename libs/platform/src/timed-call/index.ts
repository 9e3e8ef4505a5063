export { CallTimeout, callWithin } from './timed-call.js';
