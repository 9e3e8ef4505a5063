import { StartRefusal } from '#platform/process';

/** The api opens several hundred files while it loads; connections of clients come on top. */
const minOpenFiles = 1_024;

/**
 * Throws a `StartRefusal` when this process and its children may not open enough files: they would end and be restarted
 * without end. Node itself raises the soft limit to the hard one.
 */
export function requireOpenFiles(limit = openFileLimit()): void {
  if (limit === null || limit >= minOpenFiles) return;
  throw new StartRefusal(
    `At most ${limit} open files are allowed here, and Sluice needs ${minOpenFiles}. Raise the limit: ulimit -n 4096 in ` +
      'the shell, LimitNOFILE= of systemd, --ulimit nofile=4096 of a container.',
  );
}

/** Null: the system has no such limit. */
function openFileLimit(): number | null {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | 'unlimited' } } };
  const limit = userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : null;
}
