"""How the documentation site is built: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import docstrings
import examples

import nnpu

project = "nnpu"
author = "the nnpu authors"
copyright = "the nnpu authors; MIT licence"
version = release = nnpu.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # ours, in _extensions/
    "docstrings",
    "examples",
    "messages",
    "pages",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
smartquotes = False  # "auto" is code even where it stands in a sentence

# Pages
myst_enable_extensions = ["attrs_block", "attrs_inline"]
myst_heading_anchors = 4

# Copy buttons: not on output, and without the prompt of a shell or of Python
copybutton_selector = "div:not(.sphx-glr-script-out) > div.highlight > pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Reference
default_role = "code"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings have them
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False  # the template lists them
# What `nnpu` offers is documented there, whichever module offers it too.
autosummary_context = {"top": nnpu.__all__, "data": docstrings.data()}

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": str(examples.EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "thumbnail_size": (600, 250),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}
if examples.NOT_RUN:
    some = "|".join(examples.NOT_RUN)
    sphinx_gallery_conf["filename_pattern"] = rf"/(?!{some})plot_"

# Looks
html_theme = "pydata_sphinx_theme"
html_title = f"nnpu {version}"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
        "text": html_title,
    },
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
