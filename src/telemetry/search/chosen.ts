/** Whose bodies are searched: those of every workspace, or of those with these slugs. */
export type SearchedWorkspaces = 'all' | readonly string[];

export const searchesAny = (chosen: SearchedWorkspaces): boolean => chosen === 'all' || chosen.length > 0;

/** Whether the bodies of the workspace with that slug are searched; null: calls of strangers. */
export function searchesOf(chosen: SearchedWorkspaces): (slug: string | null) => boolean {
  if (chosen === 'all') return (slug) => slug !== null;
  const slugs = new Set(chosen);
  return (slug) => slug !== null && slugs.has(slug);
}
