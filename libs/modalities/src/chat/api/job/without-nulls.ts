/** Removes members without a value: null counts as absent. */
export function withoutNulls<Members extends object>(
  members: Members,
): { [Key in keyof Members]: NonNullable<Members[Key]> } {
  const entries = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Members]: NonNullable<Members[Key]> };
}
