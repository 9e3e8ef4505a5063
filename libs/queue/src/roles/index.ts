export { keysOfModels } from '../seal/queue-keys.js';
export { ensureRedisPoolRole, poolUserName, poolUserRules } from './redis-pool-role.js';
