/** The text of `thread.ts` with all that it imports, which the build puts here. */
export const threadText: string = ''
