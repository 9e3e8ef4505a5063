export { commandWorker, currentWorker, untilWorker } from './command-worker.js';
export { type DescribedWorker, describeWorker, heardWorkers, runningJobs } from './describe-worker.js';
