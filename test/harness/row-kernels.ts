/** What `sluice doctor` finds out about this processor, for tests whose bits depend on it. */
export { multipliesRowsAlike } from '../../apps/cli/src/doctor/row-kernels.js';
