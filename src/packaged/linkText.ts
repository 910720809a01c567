/** The text of `exec/gang/links/linkMain.ts` with all that it imports, which the build puts here. */
export const linkText: string = ''
