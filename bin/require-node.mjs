/** Ends the process with a sentence when this version of Node is not supported. `package.json` (`engines`) names the same ones. */
export function requireNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24;
  if (isSupported) return;
  console.error(
    `Sluice needs Node 20.19, 22.12, 24 or newer; this is ${version}. Install one of them, such as with: nvm install 24`,
  );
  process.exit(1);
}
