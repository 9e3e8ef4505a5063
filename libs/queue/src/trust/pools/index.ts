export { poolKeys } from './pool-keys.js';
export { type PoolRole, poolRolePrefix } from './pool-role.js';
export {
  describePostgresPoolRole,
  ensurePostgresPoolRole,
  poolRoleName,
  poolRoleStatements,
} from './postgres-pool-role.js';
export { ensureRedisPoolRole, poolUserName, poolUserRules, poolUserUrl } from './redis-pool-role.js';
