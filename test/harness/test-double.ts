/** Returns `members` as a whole `T`: a double of a class of which the tested code uses only these members. */
export function testDouble<T extends object>(members: NoInfer<Partial<T>>): T {
  return members as T;
}
