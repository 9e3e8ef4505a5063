const marker = 'node_modules/';

/** Returns the name of a package by the path and the entry of a lockfile; the entry names it where the path is an alias. */
export function lockedName(path, { name }) {
  return name ?? path.slice(path.lastIndexOf(marker) + marker.length);
}
