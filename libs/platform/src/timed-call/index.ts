export { RunInterval } from './run-interval.js';
export { CallTimeout, callWithin } from './timed-call.js';
