"""Numbers as text, for sentences, tables and charts."""


def format_number(value: float, digits: int = 0) -> str:
    """Write a number with thousands separators, a true minus sign and no negative zero."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")


def format_percent(share: float) -> str:
    """Write a share as a percentage; only exactly 0 is shown as 0%, and only exactly 1 as 100%."""
    if 0 < share < 0.005:
        return "under 0.5%"
    if 0.995 < share < 1:
        return "over 99%"
    return f"{share:.0%}"
