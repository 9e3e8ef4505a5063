// Compares packages of a lock file with advisories in the OSV format (https://ossf.github.io/osv-schema/).
import { lockedName } from '../locked-name.mjs';

/** Returns what advisories say about the packages: `{ id, name, version, summary, isDevelopment }`. */
export function findAffected(lock, advisories) {
  const installed = Object.entries(lock.packages ?? {})
    .filter(([path, { version, link }]) => path !== '' && version !== undefined && !link)
    .map(([path, entry]) => ({
      name: lockedName(path, entry),
      version: entry.version,
      isDevelopment: entry.dev ?? false,
    }));
  return advisories
    .filter(({ withdrawn }) => withdrawn === undefined)
    .flatMap(({ id, summary = '', affected = [] }) =>
      installed
        .filter((each) => affected.some((entry) => isAffected(each, entry)))
        .map((each) => ({ id, summary, ...each })),
    );
}

function isAffected({ name, version }, { package: affected, versions = [], ranges = [] }) {
  if (affected?.ecosystem !== 'npm' || affected.name !== name) return false;
  if (versions.includes(version)) return true;
  return ranges.some(({ type, events = [] }) => type !== 'GIT' && isWithin(version, events));
}

/** The algorithm of the format: the last event at or below the version decides. */
function isWithin(version, events) {
  const sorted = events.toSorted((left, right) => compareVersions(versionOf(left), versionOf(right)));
  let isInside = false;
  for (const event of sorted) {
    const order = compareVersions(version, versionOf(event));
    if (event.introduced !== undefined && order >= 0) isInside = true;
    if (event.fixed !== undefined && order >= 0) isInside = false;
    if (event.last_affected !== undefined && order > 0) isInside = false;
  }
  return isInside;
}

function versionOf({ introduced, fixed, last_affected: lastAffected, limit }) {
  return introduced ?? fixed ?? lastAffected ?? limit ?? '0';
}

/** Orders semantic versions; `0` is before all others. */
export function compareVersions(left, right) {
  const [leftCore, leftPre] = partsOf(left);
  const [rightCore, rightPre] = partsOf(right);
  for (let index = 0; index < 3; index++) {
    const difference = (leftCore[index] ?? 0) - (rightCore[index] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  // A release is after its pre-releases; `0` alone is before every version.
  if (left === '0' || right === '0') return Number(right === '0') - Number(left === '0');
  if (leftPre.length === 0 || rightPre.length === 0) return Math.sign(rightPre.length - leftPre.length);
  for (let index = 0; index < Math.max(leftPre.length, rightPre.length); index++) {
    const order = compareIdentifiers(leftPre[index], rightPre[index]);
    if (order !== 0) return order;
  }
  return 0;
}

function partsOf(version) {
  const [plain] = version.split('+', 1);
  const dash = plain.indexOf('-');
  const core = (dash < 0 ? plain : plain.slice(0, dash)).split('.').map(Number);
  return [core, dash < 0 ? [] : plain.slice(dash + 1).split('.')];
}

function compareIdentifiers(left, right) {
  if (left === undefined || right === undefined) return left === right ? 0 : left === undefined ? -1 : 1;
  const [leftIsNumber, rightIsNumber] = [left, right].map((each) => /^\d+$/.test(each));
  if (leftIsNumber && rightIsNumber) return Math.sign(Number(left) - Number(right));
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  return left === right ? 0 : left < right ? -1 : 1;
}
