/** Control characters, among them line breaks and NUL, and the separator of another system. */
const forbidden = /[\p{Cc}\\]/u;

/** Maximum length of a path, in characters. */
const maxLength = 512;

/**
 * Returns whether a name is a relative path inside its folder, in its simplest form: segments joined by `/`, none of them
 * empty, `.` or `..`, without control characters.
 */
export function isInnerPath(name: string): boolean {
  if (name.length > maxLength || forbidden.test(name) || !name.isWellFormed()) return false;
  return name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}
