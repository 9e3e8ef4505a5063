/** Maximum number of connections to PostgreSQL of one process. */
export const maxConnections = {
  /** The pool of the request path, and the check of migrations. */
  api: 21,
  /** Its pool, ledger verification and the check of migrations. */
  ops: 12,
  /** In addition, of each api, ops and worker, where the queue is in PostgreSQL. */
  queue: 10,
} as const;
