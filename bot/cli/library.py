"""`lint`: what is wrong in a runbook folder, before it costs an incident its answer."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import AccessOption, DataOption, JsonOption, app, console, print_json, settings_of


@app.command()
def lint(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Folder of Markdown runbooks. [RUNBOOKS_DIR; runbooks]")
    ] = None,
    runbooks: Annotated[Path | None, typer.Option("--runbooks", metavar="DIR", help="The same as DIR.")] = None,
    access: AccessOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the runbooks: pages that can't be read, and pages that need care.

    Each finding has its file and line, what is wrong, and what to do. Ends with 1 if a page would be left out.
    """
    from bot.access.policy import Policy, find_policy, load_policy
    from bot.library.lint import Finding
    from bot.library.lint import lint as check
    from bot.redaction import Redactor

    settings = settings_of(folder or runbooks, access, data)
    path = find_policy(settings.access_file, settings.runbooks_dir)
    policy = load_policy(path) if path else Policy.MEMBERS_ONLY
    library, findings = check(
        settings.runbooks_dir,
        clean=Redactor.from_settings(settings).clean_page,
        max_bytes=settings.max_runbook_bytes,
        max_pages=settings.max_runbooks,
        review_after=settings.review_after,
        today=datetime.now(UTC).date(),
        knows_audience=policy.knows,
    )
    paths = [runbook.path for runbook in library.runbooks] + [refusal.path for refusal in library.refusals]
    findings += tuple(Finding(str(path), w.line, w.reason, w.fix) for w in policy.warnings(paths) if path)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            fix = f" ({finding.fix})" if finding.fix else ""
            sys.stdout.write(f"{finding.path}:{finding.line}: {finding.severity}: {finding.reason}{fix}\n")
    errors = sum(finding.severity == "error" for finding in findings)
    console.print(
        f"{len(library.runbooks)} pages can be read, {len(library.refusals)} would be left out; "
        f"{errors} errors, {len(findings) - errors} warnings.",
        highlight=False,
    )
    if errors:
        raise typer.Exit(1)
