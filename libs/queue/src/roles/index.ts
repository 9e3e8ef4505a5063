export { keysOfModels } from '../seal/queue-keys.js';
export type { PoolRole } from './pool-role.js';
export { ensurePostgresPoolRole, poolRoleName, poolRoleStatements } from './postgres-pool-role.js';
export { ensureRedisPoolRole, poolUserName, poolUserRules } from './redis-pool-role.js';
