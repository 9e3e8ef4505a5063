/** The data folder as the programs see it where they get no path (`spawnOptionsFor`). */
export const workingFolder = '/proc/self/cwd';

/** Names the real data folder in a line of a program. */
export function nameDataFolder(line: string, dataFolder: string): string {
  return line.replaceAll(workingFolder, dataFolder);
}

const telling = /\b(error|fatal|panic|warning|hint|detail)\b|could not|cannot/i;
/** Time, zone and process id in front of a line of the server. */
const prefix = /^\d{4}-\d\d-\d\d [\d:.]{8,16} \w{1,8} \[\d{1,10}\] /;
const longestReason = 600;

/** Returns what a program of PostgreSQL says about its failure, on one line. */
export function failureReason(lines: readonly string[], dataFolder: string): string {
  const said = lines.map((line) => line.trim()).filter((line) => line !== '');
  const reasons = said.filter((line) => telling.test(line));
  const text = (reasons.length > 0 ? reasons : said).map((line) => line.replace(prefix, '')).join(' ');
  return nameDataFolder(text, dataFolder).replaceAll(/\s+/g, ' ').slice(-longestReason) || 'no reason given';
}

/** Whether a program of PostgreSQL failed because it could not write: the disk is full, or a quota is. */
export function saysDiskFull(output: string): boolean {
  return /No space left on device|Disk quota exceeded|Check free disk space/.test(output);
}
