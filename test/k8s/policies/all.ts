import type { Policy } from '../policy.js';
import { environmentPolicies } from './environment.js';
import { imagePolicies } from './images.js';
import { lifecyclePolicies } from './lifecycle.js';
import { networkPolicies } from './network.js';
import { poolPolicies } from './pools.js';
import { privilegePolicies } from './privileges.js';
import { referencePolicies } from './references.js';
import { resourcePolicies } from './resources.js';
import { selectorPolicies } from './selectors.js';

export { scalingPolicies } from './pools.js';

/** For every overlay and every render of the chart. */
export const everywhere: Policy[] = [
  ...imagePolicies,
  ...privilegePolicies,
  ...resourcePolicies,
  ...selectorPolicies,
  ...referencePolicies,
  ...environmentPolicies,
  ...networkPolicies,
  ...lifecyclePolicies,
  ...poolPolicies,
];
