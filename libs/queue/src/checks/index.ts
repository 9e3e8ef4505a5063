export { type ClusterExamination, examineCluster } from './examine-cluster.js';
export { examineRedis, type RedisExamination } from './examine-redis.js';
