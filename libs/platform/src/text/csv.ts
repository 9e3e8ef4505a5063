/** Spreadsheets take text that begins like this for a formula. */
const formulaStart = /^[=+\-@\t\r]/;
const plainNumber = /^-?\d+(?:\.\d+)?$/;

export type CsvValue = string | number | null;

/** Formats a field according to RFC 4180. An apostrophe makes text of what would be a formula. */
function csvField(value: CsvValue): string {
  const written = value === null ? '' : String(value);
  const text = formulaStart.test(written) && !plainNumber.test(written) ? `'${written}` : written;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats rows according to RFC 4180, each ended by CRLF. */
export function csvText(rows: readonly (readonly CsvValue[])[]): string {
  return rows.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}
